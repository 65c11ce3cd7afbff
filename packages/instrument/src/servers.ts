export { observeListener } from "./listener/observe-listeners.js";
