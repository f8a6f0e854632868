"""The platforms that packages are made for, and what each kind of package calls them.

Owns the table. Builds nothing.
"""

from dataclasses import dataclass

# Of a shipped server, stripped, in bytes: what it has, and a fiftieth. 20 MiB were wanted (docs/decisions/0051-weight.md).
BUDGET = 31_900_000


@dataclass(frozen=True)
class Target:
    """One platform, named as VS Code names it."""

    name: str
    # As `rustc` names what runs there; the first is what `cargo binstall` asks for, the others run the same program.
    triples: tuple[str, ...]
    # `process.platform` and `process.arch` of Node.
    node: tuple[str, str]
    # Of a Debian package; `None` where there is none.
    debian: str | None = None
    # As mason.nvim names it.
    mason: str = ""
    # Extensions of VS Code that carry the same program.
    extensions: tuple[str, ...] = ()

    @property
    def is_windows(self) -> bool:
        return self.name.startswith("win32")

    @property
    def program(self) -> str:
        return "breadboard-ls.exe" if self.is_windows else "breadboard-ls"

    @property
    def folder(self) -> str:
        """What the archive unpacks to. Without the version, so that the address of the newest one never changes."""
        return f"breadboard-ls-{self.name}"

    @property
    def archive(self) -> str:
        return self.folder + (".zip" if self.is_windows else ".tar.gz")

    @property
    def npm(self) -> str:
        return f"@breadboard-ls/{self.name}"


TARGETS = {
    target.name: target
    for target in (
        Target(
            "linux-x64",
            ("x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl"),
            ("linux", "x64"),
            "amd64",
            "linux_x64",
            ("linux-x64", "alpine-x64"),
        ),
        Target(
            "linux-arm64",
            ("aarch64-unknown-linux-gnu", "aarch64-unknown-linux-musl"),
            ("linux", "arm64"),
            "arm64",
            "linux_arm64",
            ("linux-arm64", "alpine-arm64"),
        ),
        Target("darwin-x64", ("x86_64-apple-darwin",), ("darwin", "x64"), None, "darwin_x64", ("darwin-x64",)),
        Target("darwin-arm64", ("aarch64-apple-darwin",), ("darwin", "arm64"), None, "darwin_arm64", ("darwin-arm64",)),
        Target(
            "win32-x64",
            ("x86_64-pc-windows-msvc", "x86_64-pc-windows-gnu"),
            ("win32", "x64"),
            None,
            "win_x64",
            ("win32-x64",),
        ),
        Target("win32-arm64", ("aarch64-pc-windows-msvc",), ("win32", "arm64"), None, "win_arm64", ("win32-arm64",)),
    )
}
