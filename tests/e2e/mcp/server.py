"""A server of the Model Context Protocol on standard streams, for the stories: every message it hears goes into a file."""

import json
import os
import sys

HEARD = sys.argv[1]
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
DESCRIPTION = os.environ.get("ECHO_DESCRIPTION", "Says it again.")
if os.path.exists(HEARD + ".description"):
    with open(HEARD + ".description", encoding="utf-8") as described:
        DESCRIPTION = described.read()


def tool(name, description, schema=None, **more):
    return {"name": name, "description": description, "inputSchema": schema or {"type": "object"}, **more}


TOOLS = [
    # It claims to be harmless: that is its own word.
    tool("echo", DESCRIPTION, TEXT, annotations={"readOnlyHint": True}),
    tool("big", "Gives much."),
    tool("picture", "Gives a picture."),
    tool("screenshot", "Gives a picture of the page."),
    tool("fail", "Fails."),
    tool("hang", "Never answers."),
    tool("die", "Ends the server."),
    tool("environment", "Tells its environment."),
]
PROMPT = {
    "name": "greet",
    "description": "Greets somebody.",
    "arguments": [{"name": "who", "required": True}, {"name": "tone"}],
}
RESOURCE = {"uri": "memo://one", "name": "The first memo", "mimeType": "text/plain"}


def text(said, **more):
    return {"content": [{"type": "text", "text": said}], **more}


def call(name, arguments):
    if name == "echo":
        return text(arguments["text"])
    if name == "big":
        return text("".join(f"line {at}\n" for at in range(20000)))
    if name == "picture":
        return {"content": [{"type": "image", "mimeType": "image/png", "data": "Zm9v"}]}
    if name == "screenshot":
        # What a PNG begins with, and bytes that are no image.
        images = [{"type": "image", "mimeType": "image/png", "data": data} for data in ("iVBORw0K", "Zm9v")]
        return {"content": [{"type": "text", "text": "The page."}, *images]}
    if name == "fail":
        return text("It is broken.", isError=True)
    if name == "environment":
        return text("\n".join(sorted(f"{name}={value}" for name, value in os.environ.items())))
    if name == "die":
        sys.stderr.write("The disk of " + os.environ.get("API_KEY", "nobody") + " is full\n")
        sys.stderr.flush()
        os._exit(3)
    return None


def result(method, params):
    if method == "initialize":
        capabilities = {"tools": {}, "prompts": {}, "resources": {}}
        version = params["protocolVersion"]
        return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": {"name": "t", "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "prompts/list":
        return {"prompts": [PROMPT]}
    if method == "resources/list":
        return {"resources": [RESOURCE]}
    if method == "tools/call":
        return call(params["name"], params.get("arguments") or {})
    if method == "prompts/get":
        given = params.get("arguments") or {}
        said = f"Greet {given['who']} in a {given.get('tone', 'plain')} tone."
        return {"messages": [{"role": "user", "content": {"type": "text", "text": said}}]}
    if method == "resources/read":
        if params["uri"] == "memo://one":
            return {"contents": [{"uri": "memo://one", "text": "Remember the milk."}]}
        return None
    return {}


if os.environ.get("REFUSES_TO_START"):
    sys.exit("There is no license here.")
for line in sys.stdin:
    message = json.loads(line)
    with open(HEARD, "a", encoding="utf-8") as heard:
        heard.write(json.dumps({"pid": os.getpid(), **message}) + "\n")
    if "id" not in message or "method" not in message:
        continue
    if message["method"] == "tools/call" and message["params"]["name"] == "hang":
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    given = result(message["method"], message.get("params") or {})
    if given is None:
        answer["error"] = {"code": -32002, "message": "There is no such thing."}
    else:
        answer["result"] = given
    print(json.dumps(answer), flush=True)
