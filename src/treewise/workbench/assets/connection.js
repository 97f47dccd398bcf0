// Asks the session behind a model in AFM form (anywidget's): a message has an id, and its answer the same. Whatever hosts the
// module (a server, a notebook, a file) puts each new state where model.get("state") finds it. First file after the report's.

const SLOW = 4000;   // milliseconds without an answer after which the person is told

class Connection {
  constructor(model, onSlow) {
    Object.assign(this, { model, onSlow, waiting: new Map(), name: Math.random().toString(36).slice(2), sent: 0 });
    this.receive = (message) => this.settle(message);
    model.on("msg:custom", this.receive);
  }

  ask(message) {
    const id = `${this.name}-${++this.sent}`;                 // several views of a model hear all answers
    const slow = setTimeout(() => this.onSlow(), SLOW);
    return new Promise((resolve) => {
      this.waiting.set(id, (answer) => { clearTimeout(slow); resolve(answer); });
      this.model.send({ ...message, id });
    });
  }

  settle(message) {
    this.waiting.get(message?.id)?.(message.answer);
    this.waiting.delete(message?.id);
  }

  close() { this.model.off("msg:custom", this.receive); this.waiting.clear(); }
}
