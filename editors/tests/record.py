"""Stands between an editor and the server, and keeps the `initialize` that the editor sent.

    record.py FILE NAME SERVER [ARGUMENT...]

An editor is configured to start this instead of `breadboard-ls`. FILE gets what it announced, under NAME, as `announced.py` reads it.
"""

import json
import subprocess
import sys
import threading


def main():
    path, name, *server = sys.argv[1:]
    child = subprocess.Popen(server, stdin=subprocess.PIPE)

    def pump():
        seen = b""
        kept = False
        while data := sys.stdin.buffer.read1(65536):
            child.stdin.write(data)
            child.stdin.flush()
            seen = b"" if kept else seen + data
            head, found, body = seen.partition(b"\r\n\r\n")
            lengths = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
            if not found or not lengths or len(body) < int(lengths[0].split(b":")[1]):
                continue
            kept = True
            params = json.loads(body[: int(lengths[0].split(b":")[1])])["params"]
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"client": name, "capabilities": params["capabilities"]}, file, indent=1, sort_keys=True)
                file.write("\n")
        child.stdin.close()

    threading.Thread(target=pump, daemon=True).start()
    sys.exit(child.wait())


main()
