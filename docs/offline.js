// Search in a site that was opened from a folder. Browsers start no worker from a file:// address,
// so the worker's script runs in a hidden frame instead. The site asks nobody else for a script.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      this.send = (data) => inside.dispatchEvent(new inside.MessageEvent("message", { data }));
      inside.document.open();
      inside.document.write("<!doctype html><title>Search</title>");
      inside.document.close();
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      script.src = url;
      this.ready = new Promise((loaded) => script.addEventListener("load", loaded));
      inside.document.body.append(script);
    }
    postMessage(data) {
      this.ready.then(() => this.send(data));
    }
    terminate() {}
  };
}
