// For the other packages of this repository: formats Channelz data as text, for the terminal and the page. Runs in browsers, and does
// not load protobuf, because the CLI imports it at startup.
export { formatAddress } from "./address.js";
export { printableText } from "./printable-text.js";
export { securityName } from "./security-name.js";
export { stateName } from "./state-name.js";
export { formatRelative, formatSpan, formatTime, timeOf } from "./time.js";
export {
  becameFailing,
  becameReady,
  type KeepaliveFailure,
  keepaliveFailureIn,
  type ReasonKind,
  reasonIn,
  reasonKindOf,
  repetitionsOf,
} from "./trace-text.js";
