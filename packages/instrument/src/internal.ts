// For the gateway only. Loads nothing that patches clients or other servers.
export { observeListener } from "./listener/observe-listeners.js";
