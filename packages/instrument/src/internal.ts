// For the gateway only. It loads nothing that patches a client or another server.
export { observeListener } from "./listener/observe-listeners.js";
