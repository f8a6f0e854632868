/**
 * A script that is loaded when something on the page needs it first: from beside ours, under the same nonce.
 *
 * Owns that each is asked for once. Knows nothing of what the scripts do.
 */

const loading = new Map<string, Promise<unknown>>();

/** What the script `<name>.js` leaves under `global`; `undefined`: it cannot be had. */
export function loadBeside<T>(name: string, global: string): Promise<T | undefined> {
  let script = loading.get(name);
  if (script === undefined) loading.set(name, (script = load(name, global)));
  return script as Promise<T | undefined>;
}

function load(name: string, global: string): Promise<unknown> {
  const ours = document.querySelector<HTMLScriptElement>("script[src*='main.js']");
  if (ours === null) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const script = document.createElement("script");
    // A page can read the nonce of an element as its property alone.
    script.nonce = ours.nonce;
    script.src = ours.src.replace(/main\.js/, `${name}.js`);
    script.onload = () => resolve((globalThis as Record<string, unknown>)[global]);
    script.onerror = () => resolve(undefined);
    document.head.append(script);
  });
}
