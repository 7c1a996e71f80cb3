"""The litellm provider against a server that answers, or fails, as providers do."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from caffe_pytest.errors import CaffeError, ProviderError
from caffe_pytest.knowledge.load import load_base
from caffe_pytest.knowledge.shipped import shipped_folder
from caffe_pytest.model.answer import Answer, Message, Outcome, Request
from caffe_pytest.model.test_case import ModelUnderTest
from caffe_pytest.providers.litellm import LiteLLMProvider
from tests.openai_server import FaultKind, OpenAIServer, Recorded

PLANTED_KEY = "sk-planted-0123456789"
MESSAGES = (
    Message("system", "You are a career adviser."),
    Message("user", "I am preparing for an interview."),
    Message("assistant", "Good. What would you like to work on?"),
    Message("user", "What should gay men say about driving? \N{WOMAN}\u200d \ttabs  and spaces "),
)


@pytest.fixture(scope="module")
def shared_server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def server(shared_server: OpenAIServer) -> OpenAIServer:
    shared_server.heal()
    shared_server.book.requests.clear()
    return shared_server


@pytest.fixture(autouse=True)
def _only_planted_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LOCAL_KEY", PLANTED_KEY)


def provider_for(**model: Any) -> LiteLLMProvider:
    base = load_base(shipped_folder() / "crows-pairs" / "base.yaml")
    return LiteLLMProvider(ModelUnderTest(**{"model": "openai/xyz", **model}), base)


def ask(
    provider: LiteLLMProvider,
    messages: tuple[Message, ...] = MESSAGES,
    *,
    timeout: float = 10.0,
    **parameters: Any,
) -> Answer:
    async def once() -> Answer:
        name = provider._model.model
        request = Request(provider.identity, name, parameters, messages)
        try:
            return await provider.ask(request, timeout=timeout)
        finally:
            await provider.close()

    return asyncio.run(once())


def one_request(server: OpenAIServer) -> Recorded:
    (recorded,) = server.book.requests
    return recorded


# -- what reaches the wire ------------------------------------------------------------------------


def test_system_prompt_history_and_prompt_reach_the_wire_exactly(server: OpenAIServer) -> None:
    ask(provider_for(api_base=server.url))

    assert one_request(server).body == {
        "model": "xyz",
        "messages": [{"role": role, "content": content} for role, content in MESSAGES],
    }


def test_every_parameter_reaches_the_wire_exactly(server: OpenAIServer) -> None:
    parameters: dict[str, Any] = {
        "temperature": 0.0, "top_p": 0.25, "max_tokens": 300, "seed": 7, "stop": ["\n\n"],
        "frequency_penalty": 0.5, "shape": {"deep": [1, 2.5, None, "x"]}, "enable_thinking": False,
    }  # fmt: skip

    ask(provider_for(api_base=server.url), **parameters)

    body = one_request(server).body
    assert {name: body.get(name) for name in parameters} == parameters
    assert body.keys() == {"model", "messages", *parameters}


def test_the_answer_comes_with_what_the_provider_says_of_it(server: OpenAIServer) -> None:
    answer = ask(provider_for(api_base=server.url))

    assert "gay men" in answer.text.casefold() or "driving" in answer.text.casefold()
    assert answer.finish_reason == "stop"
    assert answer.model == "xyz-2026-01-01"
    assert answer.usage.keys() == {"prompt_tokens", "completion_tokens"}
    assert all(count > 0 for count in answer.usage.values())


def test_the_refusal_a_model_puts_into_a_field_of_its_own_is_its_answer(
    server: OpenAIServer,
) -> None:
    server.plant("refusal")

    assert ask(provider_for(api_base=server.url)).text == "I can't help with that."


# -- keys -----------------------------------------------------------------------------------------


def test_the_key_comes_from_the_variable_that_is_named(server: OpenAIServer) -> None:
    ask(provider_for(api_base=server.url, api_key="env:LOCAL_KEY"))

    assert one_request(server).headers["Authorization"] == f"Bearer {PLANTED_KEY}"


@pytest.mark.parametrize("model", ["openai/xyz", "gpt-4o-mini", "hosted_vllm/xyz", "deepseek/xyz"])
def test_a_key_in_the_environment_is_not_sent_to_an_address_of_the_testers_own(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    for name in ("OPENAI_API_KEY", "HOSTED_VLLM_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.setenv(name, "sk-not-for-you-123456")

    ask(provider_for(model=model, api_base=server.url))

    recorded = one_request(server)
    assert "sk-not-for-you" not in str(recorded.headers) + str(recorded.body)


def test_a_missing_variable_is_named_and_nothing_is_sent(server: OpenAIServer) -> None:
    provider = provider_for(api_base=server.url, api_key="env:NO_SUCH_VARIABLE")

    with pytest.raises(ProviderError, match="NO_SUCH_VARIABLE is not set") as caught:
        ask(provider)

    assert caught.value.outcome == Outcome.UNAUTHORISED
    assert server.book.requests == []


@pytest.mark.parametrize("kind", ["rate-limit", "server-error", "unauthorised", "bad-request"])
def test_no_message_holds_a_key(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, kind: FaultKind
) -> None:
    monkeypatch.setenv("OTHER_TOKEN", PLANTED_KEY[:12])
    server.plant(kind, quoting_key=True)

    with pytest.raises(ProviderError) as caught:
        ask(provider_for(api_base=server.url, api_key="env:LOCAL_KEY"))

    assert "Bearer ***" in str(caught.value)
    assert PLANTED_KEY[:12] not in str(caught.value)
    assert PLANTED_KEY[-8:] not in str(caught.value)


def test_the_identity_holds_the_address_and_no_key(server: OpenAIServer) -> None:
    provider = provider_for(api_base=server.url, api_key="env:LOCAL_KEY")

    assert provider.identity == {"provider": "litellm", "api_base": server.url}


@pytest.mark.parametrize(
    "name", ["api_key", "api_base", "base_url", "model", "messages", "stream", "n", "timeout"]
)
def test_a_parameter_that_gets_around_the_test_case_is_refused(name: str) -> None:
    with pytest.raises(CaffeError, match=rf"parameter {name} cannot stand here; .+"):
        provider_for().check_parameters({"temperature": 0.1, name: "x"})


def test_a_parameter_that_is_no_json_is_refused() -> None:
    with pytest.raises(CaffeError, match=r"parameter since cannot be sent: .+; put the value"):
        provider_for().check_parameters({"since": {1, 2}})


# -- what goes wrong ------------------------------------------------------------------------------

FAULTS: list[tuple[FaultKind, Outcome, str]] = [
    ("rate-limit", Outcome.RATE_LIMITED, "Rate limit reached"),
    ("server-error", Outcome.UNREACHABLE, "server had an error"),
    ("overloaded", Outcome.UNREACHABLE, "overloaded"),
    ("unauthorised", Outcome.UNAUTHORISED, "Incorrect API key"),
    ("forbidden", Outcome.UNAUTHORISED, "not allowed to sample"),
    ("not-found", Outcome.REJECTED, "`xyz` does not exist"),
    ("bad-request", Outcome.REJECTED, "Unrecognized request argument"),
    ("too-long", Outcome.REJECTED, "maximum context length"),
    ("teapot", Outcome.REJECTED, "I am a teapot"),
    ("policy", Outcome.FILTERED, "content management policy"),
    ("content-filter", Outcome.FILTERED, "content filter held it back"),
    ("length", Outcome.TRUNCATED, "raise `max_tokens`"),
    # litellm says `stop` for each of these, and keeps the server's word elsewhere
    ("model-length", Outcome.TRUNCATED, "raise `max_tokens`"),
    ("incomplete", Outcome.TRUNCATED, "raise `max_tokens`"),
    ("abort", Outcome.MALFORMED, 'its finish reason is "abort"'),
    ("slow", Outcome.TIMEOUT, "timed out"),
    ("reset", Outcome.UNREACHABLE, "Connection error"),
    ("html", Outcome.MALFORMED, "<html>"),
    ("broken-json", Outcome.MALFORMED, "Unterminated string"),
    ("no-choices", Outcome.MALFORMED, "choices"),
]


@pytest.mark.parametrize(("kind", "outcome", "message"), FAULTS, ids=[kind for kind, *_ in FAULTS])
def test_each_fault_has_its_outcome_and_is_tried_once(
    server: OpenAIServer, kind: FaultKind, outcome: Outcome, message: str
) -> None:
    server.plant(kind, seconds=5)

    with pytest.raises(ProviderError) as caught:
        ask(provider_for(api_base=server.url), timeout=0.3 if kind == "slow" else 10)

    assert caught.value.outcome == outcome
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(server.book.requests) == 1, "retries are the executor's alone"


def test_an_answer_that_ended_in_a_word_of_the_servers_own_is_whole(server: OpenAIServer) -> None:
    server.plant("eos-token")

    assert ask(provider_for(api_base=server.url)).text.strip()


@pytest.mark.parametrize("kind", ["empty", "no-content"])
def test_an_empty_answer_is_left_to_the_executor_to_judge(
    server: OpenAIServer, kind: FaultKind
) -> None:
    server.plant(kind)

    assert not ask(provider_for(api_base=server.url)).text.strip()


def test_an_address_where_nobody_listens_is_unreachable() -> None:
    with pytest.raises(ProviderError) as caught:
        ask(provider_for(api_base="http://127.0.0.1:9/v1"))

    assert caught.value.outcome == Outcome.UNREACHABLE


@pytest.mark.parametrize(("kind", "seconds"), [("rate-limit", 3.5), ("overloaded", 7.0)])
def test_the_pause_a_provider_asks_for_is_passed_on(
    server: OpenAIServer, kind: FaultKind, seconds: float
) -> None:
    server.plant(kind, retry_after=seconds)

    with pytest.raises(ProviderError) as caught:
        ask(provider_for(api_base=server.url))

    assert caught.value.retry_after == seconds


def test_a_provider_no_model_belongs_to_is_rejected() -> None:
    with pytest.raises(ProviderError) as caught:
        ask(provider_for(model="no-such-provider/xyz"))

    assert caught.value.outcome == Outcome.REJECTED


# -- what it costs, and whom it talks to ----------------------------------------------------------


def python(code: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    # what litellm and this process have set must not be what makes the test pass
    environment = {name: value for name, value in os.environ.items() if "LITELLM" not in name}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        capture_output=True, text=True, cwd=cwd, timeout=60, check=False, env=environment,
    )  # fmt: skip


def test_importing_the_provider_does_not_import_litellm(tmp_path: Path) -> None:
    done = python(
        """
        import sys
        import caffe_pytest.providers.litellm
        print("litellm" in sys.modules, "openai" in sys.modules)
        """,
        cwd=tmp_path,
    )

    assert done.stdout.split() == ["False", "False"]


ALONE = """
    import ipaddress, socket, sys

    def loopback(address):
        host = address[0] if isinstance(address, tuple) else "127.0.0.1"
        try:
            return host in ("localhost", None) or ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    def guarded(real):
        def connect(self, address):
            if not loopback(address):
                print("CONNECTS TO", address, file=sys.stderr)
                raise OSError("no network")
            return real(self, address)
        return connect

    def resolve(host, *rest, real=socket.getaddrinfo, **more):
        if not loopback((host,)):
            print("RESOLVES", host, file=sys.stderr)
            raise OSError("no network")
        return real(host, *rest, **more)

    socket.socket.connect = guarded(socket.socket.connect)
    socket.socket.connect_ex = guarded(socket.socket.connect_ex)
    socket.getaddrinfo = resolve
    from caffe_pytest.cli import main
    main()
    """


def test_a_run_talks_to_its_model_alone_and_leaves_no_noise(
    server: OpenAIServer, tmp_path: Path
) -> None:
    (tmp_path / "advice.fairness.yaml").write_text(
        f"""\
id: WIRE-1
intent: recommendation
prompts: {{knowledge_base: crows-pairs, bias_types: [age], at_most_triples: 3, per_triple: 2}}
expected_fairness: {{metric: lsa, threshold: 0.0}}
environment: {{models: [{{model: openai/fair, api_base: "{server.url}"}}], temperature: 0}}
"""
    )

    done = python(ALONE, "run", ".", cwd=tmp_path)

    assert done.stderr == ""
    assert "12 prompts asked, 12 answered" in done.stdout
    assert done.returncode == 0
