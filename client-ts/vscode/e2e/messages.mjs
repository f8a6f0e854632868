// Every message that a frame of a webview got, of the editor, of the page in it or of itself.
//
// Owns the ear in the frames: whoever reads the data of a message event in such a frame is overheard. The window of
// the editor is no such frame; what passes through it is not for a page.

/** An ear; `install` puts it into every page of a context, before any script of theirs. */
export function listen() {
  const texts = [];
  let on = true;
  return {
    install: async (context) => {
      await context.exposeBinding("__overheard", (_source, text) => void (on && texts.push(text)));
      await context.addInitScript(() => {
        if (window === window.top) return;
        const tell = window.__overheard;
        const data = Object.getOwnPropertyDescriptor(MessageEvent.prototype, "data");
        const seen = new WeakSet();
        Object.defineProperty(MessageEvent.prototype, "data", {
          ...data,
          get() {
            const value = data.get.call(this);
            if (!seen.has(this) && window.__deaf !== true) {
              seen.add(this);
              let text;
              try {
                text = typeof value === "string" ? value : JSON.stringify(value);
              } catch {
                text = String(value);
              }
              tell(text ?? "");
            }
            return value;
          },
        });
      });
    },
    /** What was heard. */
    texts,
    /** Hears nothing more, where it would be in the way of a measurement: in this frame, until it is made anew. */
    deafen: async (frames) => {
      on = false;
      await Promise.all(frames.map((frame) => frame.evaluate(() => void (window.__deaf = true)).catch(() => undefined)));
    },
    undeafen: async (frames) => {
      await Promise.all(frames.map((frame) => frame.evaluate(() => void (window.__deaf = false)).catch(() => undefined)));
      on = true;
    },
  };
}
