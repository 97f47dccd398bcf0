"""A client made from the OpenAPI document (schemathesis), which sends what the schema allows and what it does not.

With TREEWISE_LONG=1 and schemathesis, in the nightly run: no request may end in a server error or in an answer that the
document does not know.
"""

import os
import subprocess
import sys

import pytest

LONG = bool(os.environ.get("TREEWISE_LONG"))


@pytest.mark.skipif(not LONG, reason="TREEWISE_LONG=1 runs it")
def test_a_client_made_from_the_document(server):
    pytest.importorskip("schemathesis")
    _, port, _ = server
    checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"http://127.0.0.1:{port}/openapi.json"]
    done = subprocess.run(
        [*command, "--checks", checks, "--max-examples", "200", "--no-color"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "No issues found" in done.stdout
