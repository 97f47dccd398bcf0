"""The workbench in a notebook: a real kernel, with the messages that a browser would send."""

import sys
import time

import pytest

import treewise as tw

pytest.importorskip("anywidget", reason='no anywidget: pip install "treewise[notebook]"')
pytest.importorskip("nbclient", reason="no nbclient: pip install nbclient ipykernel")

WIDGET = "application/vnd.jupyter.widget-view+json"
CELLS = (
    "import treewise as tw\npage = tw.explore('penguins', 'species', validation=0.3)\npage",
    "tree = page.editor.split(0, reason='from Python')",
    "print(page.tree.n_leaves, page.state['log'][0]['reason'])",
)


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """Return an executed notebook, a function that sends a message and returns answers, and one that runs a cell."""
    import nbformat
    from jupyter_client import KernelManager
    from nbclient import NotebookClient

    written = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    manager = KernelManager()
    manager.kernel_spec.argv[0] = sys.executable
    client = NotebookClient(
        written, km=manager, timeout=120, resources={"metadata": {"path": str(tmp_path_factory.mktemp("notebook"))}}
    )
    with client.setup_kernel():
        for index, cell in enumerate(written.cells):
            client.execute_cell(cell, index)
        client.set_widgets_metadata()
        comm = next(output.data[WIDGET]["model_id"] for output in written.cells[0].outputs if WIDGET in output.data)

        def send(message):
            content = {"comm_id": comm, "data": {"method": "custom", "content": message}}
            sent = client.kc.session.msg("comm_msg", content)
            client.kc.shell_channel.send(sent)
            answers, until = [], time.monotonic() + 60
            while time.monotonic() < until:
                received = client.kc.iopub_channel.get_msg(timeout=60)
                if received["parent_header"].get("msg_id") != sent["header"]["msg_id"]:
                    continue
                if received["msg_type"] == "comm_msg":
                    answers.append(received["content"]["data"])
                elif received["content"].get("execution_state") == "idle":
                    return answers
            raise AssertionError("the kernel did not answer")

        def run(code):
            cell = nbformat.v4.new_code_cell(code)
            client.execute_cell(cell, 0)
            return "".join(output.get("text", "") for output in cell.outputs)

        yield written, send, run
        client.kc.stop_channels()
    manager.shutdown_kernel(now=True)
    manager.cleanup_resources()


def test_a_notebook_is_executed_with_the_page(notebook):
    written, _, _ = notebook
    assert written.cells[2].outputs[0].text == "2 from Python\n"
    saved = written.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
    page = next(model["state"] for model in saved.values() if "_esm" in model["state"])
    assert "export default" in page["_esm"]
    assert page["_css"].startswith(".workbench {")
    assert page["state"]["facts"]["target"] == "species"  # drawn without a kernel, too


def test_the_kernel_answers_the_page(notebook):
    _, send, run = notebook
    (answer,) = send({"do": "candidates", "node": 1, "id": "a-1"})
    assert answer["content"]["id"] == "a-1"
    assert answer["content"]["answer"]["tests"][0]["column"] == "bill_length_mm"
    answers = send({"do": "edit", "verb": "split", "with": {"node": 1, "reason": "from the page"}, "id": "a-2"})
    assert [answer["method"] for answer in answers if answer["method"] == "custom" or "state" in answer["state"]] == [
        "update",
        "custom",
    ]
    assert run("print(page.tree.n_leaves, page.tree.history[-1]['reason'])") == "3 from the page\n"
    assert answers[-1]["content"]["answer"] == {}


@pytest.mark.parametrize("message", [None, [], "state", {"do": "delete"}, {"do": "edit", "verb": "split", "with": {}}])
def test_an_error_in_the_kernel_is_an_answer(notebook, message):
    _, send, _ = notebook
    assert "error" in send(message)[-1]["content"]["answer"]


def test_an_unforeseen_error_is_shown_and_not_swallowed(notebook):
    _, send, run = notebook
    run("kept, page._session.editor.rows = page._session.editor.rows, lambda node: 1 / 0")
    answer = send({"do": "rows", "node": 0, "id": 1})[-1]["content"]["answer"]
    assert answer["error"] == "ZeroDivisionError: division by zero"
    run("page._session.editor.rows = kept")
    assert send({"do": "rows", "node": 0, "id": 2})[-1]["content"]["answer"]["total"] == 241


def test_a_page_without_anywidget_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "treewise.workbench.notebook", None)
    with pytest.raises(tw.TreewiseError, match=r'pip install "treewise\[notebook\]"'):
        tw.explore("penguins", "species")
