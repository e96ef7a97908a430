"""What the tests of deploy/ ask of Python packages."""

import json
import sys
from pathlib import Path


def documents(*files):
    """Prints the documents of YAML files as a list of JSON."""
    import yaml

    docs = [doc for file in files for doc in yaml.safe_load_all(Path(file).read_text())]
    json.dump(docs, sys.stdout)


def kubernetes(version, *files):
    """Holds objects against the schemas of a version of Kubernetes, which know every field; `newest` is the package's."""
    import kubernetes_validate
    import yaml

    version = kubernetes_validate.latest_version() if version == "newest" else version
    for file in files:
        for doc in yaml.safe_load_all(Path(file).read_text()):
            try:
                kubernetes_validate.validate(doc, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                path = ".".join(map(str, error.path))
                sys.exit(f"{file}: {doc['kind']} {path}: {error.message} (Kubernetes {version})")


def dashboard(file):
    """Reads a dashboard into Grafana's own model, writes it again, and says what did not survive that."""
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.cog.plugins import register_default_plugins
    from grafana_foundation_sdk.models.dashboard import Dashboard

    register_default_plugins()
    before = json.loads(Path(file).read_text())
    after = json.loads(JSONEncoder(sort_keys=True).encode(Dashboard.from_json(before)))
    if lost := list(differences(before, after, "")):
        sys.exit("\n".join(lost))


def differences(before, after, path):
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            if key not in after:
                yield f"{path}/{key} is nothing that Grafana knows"
            else:
                yield from differences(value, after[key], f"{path}/{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for n, (one, other) in enumerate(zip(before, after)):
            yield from differences(one, other, f"{path}/{n}")
    elif before != after:
        yield f"{path} is {before!r}, for Grafana {after!r}"


def compose_program():
    """Prints where Docker Compose is."""
    import compose

    print(Path(compose.__file__).parent / "docker-compose", end="")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
