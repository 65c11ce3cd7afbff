// For the other packages of this repository: the words for Channelz data that the terminal and the page share. It runs in browsers,
// and loads no protobuf, because the command line starts with it.
export { formatAddress } from "./address.js";
export { printableText } from "./printable-text.js";
export { securityName } from "./security-name.js";
export { stateName } from "./state-name.js";
export { formatRelative, formatSpan, formatTime, timeOf } from "./time.js";
