/** Where the page of a new spec begins: wiring only. */
import { render } from "preact";
import { drawOncePerFrame } from "../frame";
import type { VsCodeApi } from "../host_link";
import "../style.css";
import "./create_spec.css";
import { SpecForm } from "./form";
import { CreateSpec } from "./view";

declare function acquireVsCodeApi(): VsCodeApi;

const api = acquireVsCodeApi();
drawOncePerFrame((draw) => requestAnimationFrame(draw));
const form = new SpecForm(
  {
    post: (message) => api.postMessage(message),
    setState: (state) => api.setState(state),
    later: (ms, then) => {
      const timer = setTimeout(then, ms);
      return () => clearTimeout(timer);
    },
    violation: (sentence) => console.warn(`[protocol violation] ${sentence}`),
  },
  api.getState(),
);
window.addEventListener("message", (event) => form.hear(event.data));
window.addEventListener("focus", () => form.pickerClosed());
// The user leaves, perhaps for good: the button of the panel is outside of this page.
window.addEventListener("blur", () => form.flush());
window.addEventListener("beforeunload", () => form.unload());

const root = document.getElementById("app");
if (root !== null) {
  root.removeAttribute("aria-busy");
  render(<CreateSpec form={form} />, root);
}
form.mount();
