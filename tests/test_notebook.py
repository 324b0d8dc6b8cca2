"""A notebook that does what people do in one, where nbclient and ipykernel are installed."""

import sys
from pathlib import Path

import pytest
from notebook import CELLS


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the packages of Jupyter
def test_a_notebook(tmp_path: Path) -> None:
    for package in ("nbclient", "ipykernel", "ir_measures", "polars", "pandas", "matplotlib"):
        pytest.importorskip(package)
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell.strip()) for cell in CELLS])
    client = NotebookClient(notebook, timeout=60, allow_errors=True, resources={"metadata": {"path": tmp_path}})
    client.create_kernel_manager().kernel_spec_manager.ensure_native_kernel = True
    client.km.kernel_spec.argv[0] = sys.executable
    client.execute()
    outputs = [cell.outputs for cell in notebook.cells]
    table, compared, picture, error = outputs
    texts = [part.get("text", "") + part.get("data", {}).get("text/html", "") for part in table]
    warning = "1 judged query is not in the run"
    assert sum(text.count(warning) for text in texts) == 1 and "<table" in texts[-1]
    assert not [part for part in (*compared, *picture) if part.output_type == "error"]
    assert "<table" in compared[-1].data["text/html"]
    assert "<svg" in picture[-1].data["image/svg+xml"] and "good and bad" not in picture[-1].data["text/plain"]
    [stopped] = error
    assert stopped.ename == "InputError" and len(stopped.traceback) == 1
    assert stopped.traceback == ["InputError: nowhere.run: no such file. Check the path"]
