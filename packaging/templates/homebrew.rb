# Of a tap; made by scripts/dist.
class BreadboardLs < Formula
  desc "Language server for coding agents: every editor, every agent engine"
  homepage "https://github.com/breadboard-ls/breadboard-ls"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "@URL:darwin-arm64@"
      sha256 "@SHA256:darwin-arm64@"
    end
    on_intel do
      url "@URL:darwin-x64@"
      sha256 "@SHA256:darwin-x64@"
    end
  end

  on_linux do
    on_arm do
      url "@URL:linux-arm64@"
      sha256 "@SHA256:linux-arm64@"
    end
    on_intel do
      url "@URL:linux-x64@"
      sha256 "@SHA256:linux-x64@"
    end
  end

  def install
    bin.install "breadboard-ls"
    man1.install Dir["share/man/*.1"]
    bash_completion.install "share/completions/breadboard-ls.bash" => "breadboard-ls"
    zsh_completion.install "share/completions/_breadboard-ls"
    fish_completion.install "share/completions/breadboard-ls.fish"
  end

  test do
    (testpath/"retry.py").write "def retry_delay(n):\n    return 2 ** n\n"
    assert_match "retry.py", shell_output("#{bin}/breadboard-ls ask 'where is the retry delay computed?'")
  end
end
