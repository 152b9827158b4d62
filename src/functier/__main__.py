"""``python -m functier``: the versions of what functier uses."""

from .testing._versions import show_versions

if __name__ == "__main__":
    show_versions()
