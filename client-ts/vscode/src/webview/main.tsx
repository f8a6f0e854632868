/** Where the page begins: wiring only. */
import "@vscode-elements/elements/dist/vscode-badge/index.js";
import { newUuid } from "@breadboard-ls/sdk";
import { render } from "preact";
import { App } from "./app";
import { drawOncePerFrame } from "./frame";
import { HostLink, type VsCodeApi } from "./host_link";
import { Keeper } from "./keeper";
import { ModelContext } from "./model/context";
import { Model } from "./model/model";
import "./style.css";

declare function acquireVsCodeApi(): VsCodeApi;

const api = acquireVsCodeApi();
drawOncePerFrame((draw) => requestAnimationFrame(draw));
const link: HostLink = new HostLink(
  api,
  window,
  (method, params) => model.heardRequest(method, params),
  ({ message }) => console.warn(`[protocol violation] ${message}`),
);
const keeper = new Keeper(
  (state) => api.setState(state),
  (state) => link.editor("editor.remember", { state }),
);
const model: Model = new Model(
  { link, save: (state) => keeper.keep(state), now: () => Date.now(), uuid: newUuid },
  api.getState(),
);

const root = document.getElementById("app");
if (root !== null) {
  root.removeAttribute("aria-busy");
  render(
    <ModelContext.Provider value={model}>
      <App />
    </ModelContext.Provider>,
    root,
  );
}
void model.boot();
