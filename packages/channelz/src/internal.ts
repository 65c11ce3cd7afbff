// For the other packages of this repository only. Loads neither protobuf nor Connect, because the CLI imports it at startup.
export { mapBounded } from "./client/map-bounded.js";
export { parseTarget, type Target } from "./dial/parse-target.js";
export { eachChange } from "./each-change.js";
export { ChannelzError, type ChannelzErrorCode } from "./errors.js";
export { printableText } from "./text/printable-text.js";
export { parseUrl } from "./url.js";
