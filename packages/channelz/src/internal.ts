// For the other packages of this repository only. It loads neither protobuf nor Connect, because the command line starts with it.
export { mapBounded } from "./client/map-bounded.js";
export { parseTarget, type Target } from "./dial/parse-target.js";
export { ChannelzError, type ChannelzErrorCode } from "./errors.js";
export { printableText } from "./text/printable-text.js";
export { parseUrl } from "./url.js";
