import { Server } from "node:net";
import type { Registry, ServerHandle, SocketHandle } from "@wirescope/channelz";
import { guardNode } from "./guard-listener.js";
import { stopObserving } from "./observation.js";
import { listenAddress } from "./sockets/addresses.js";
import { describeListenSocket } from "./sockets/describe-socket.js";

/** Called when a server stops listening. Weak, so that observation keeps nothing alive. */
const listeners = new WeakMap<Server, () => void>();
/** Servers that were closed; they may listen again. */
const closed = new WeakSet<Server>();
let isPatched = false;

/** Whether a server was closed since the first observation of any server, and does not listen again. */
export function wasClosed(server: Server): boolean {
  return closed.has(server) && !server.listening;
}

/**
 * Shows the listening socket of a server as long as it listens, and stops observing the server once it has closed and its last
 * connection has ended. Returns a function that stops this earlier.
 */
export function observeListening(registry: Registry, server: Server, handle: ServerHandle): () => void {
  patchClose();
  let socket: SocketHandle | undefined;
  const onListening = guardNode((): void => {
    // If observation started between listen() and this event, it is already shown.
    if (handle.isClosed || socket !== undefined) return;
    const local = listenAddress(server);
    socket = registry.addListenSocket({ server: handle, local, subject: server, describe: describeListenSocket });
    handle.trace("Listening");
  });
  const onListenEnd = guardNode((): void => {
    if (socket === undefined) return;
    socket.close();
    socket = undefined;
    handle.trace("Stopped listening");
  });
  const onClose = guardNode((): void => {
    onListenEnd();
    stopObserving(server, "the server closed");
  });
  if (server.listening) onListening();
  server.on("listening", onListening);
  server.on("close", onClose);
  listeners.set(server, onListenEnd);
  return () => {
    server.off("listening", onListening);
    server.off("close", onClose);
    listeners.delete(server);
  };
}

/**
 * Detects when a server stops listening, which Node does not report while there are connections. Servers of every kind call this
 * method.
 */
function patchClose(): void {
  if (isPatched) return;
  isPatched = true;
  const { close } = Server.prototype;
  const patched: typeof close = function (this: Server, ...args) {
    const result = close.apply(this, args);
    if (!this.listening) {
      closed.add(this);
      listeners.get(this)?.();
    }
    return result;
  };
  Object.defineProperties(patched, Object.getOwnPropertyDescriptors(close));
  Server.prototype.close = patched;
}

/** The servers that are listening, as far as Node reports them: servers after `unref()` are missing. */
export function openServers(): Server[] {
  // Undocumented. If Node removes this function, existing servers are not found.
  const { _getActiveHandles } = process as { readonly _getActiveHandles?: () => unknown[] };
  const handles = _getActiveHandles?.call(process) ?? [];
  // A closing server is still in the list.
  return handles.filter((handle): handle is Server => handle instanceof Server && handle.listening);
}
