// The page of the server: a model in AFM form whose messages are requests, and the workbench in the body.

import workbench from "/workbench.js";

const RUNNING = "Is treewise explore still running?";

class PageModel {
  constructor() { Object.assign(this, { values: { home: "page" }, listeners: new Map() }); }

  get(name) { return this.values[name]; }
  set(name, value) { this.values[name] = value; this.emit(`change:${name}`); }
  save_changes() {}                                            // nothing is kept on this side
  on(event, listener) { this.listeners.set(event, [...(this.listeners.get(event) ?? []), listener]); }
  off(event, listener) { this.listeners.set(event, (this.listeners.get(event) ?? []).filter((own) => own !== listener)); }
  emit(event, content) { for (const listener of this.listeners.get(event) ?? []) listener(content); }

  async send({ id, ...message }) {
    const { state, ...answer } = await post(message);
    if (state) this.set("state", state);
    this.emit("msg:custom", { id, answer });
  }
}

async function post(message) {
  try {
    const response = await fetch("/ask", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(message) });
    return response.ok ? await response.json() : { error: `The server answered ${response.status}. ${RUNNING}` };
  } catch {
    return { error: `The server does not answer. ${RUNNING} Nothing is lost: start it again.` };
  }
}

workbench.render({ model: new PageModel(), el: document.body });
