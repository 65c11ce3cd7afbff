// For the gateway only. Loads nothing that patches clients or other servers.
export { nameClient, observeListener } from "./listener/observe-listeners.js";
