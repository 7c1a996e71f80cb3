"""What things are: frozen data without I/O, in the words of ISO/IEC/IEEE 29119 and the paper."""
