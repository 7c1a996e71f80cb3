"""`python -m caffe_pytest` is `caffe`."""

from caffe_pytest.cli import main

main()
