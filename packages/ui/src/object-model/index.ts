export { type Certificate, readCertificate, validityOf } from "./certificate.js";
export {
  countOf,
  formatRate,
  type ObjectState,
  objectLabel,
  objectState,
  objectTitle,
  rateText,
  type SocketRole,
  shortTitle,
  trafficOf,
} from "./labels.js";
export { findObject, objectPath, parseObjectPath, pathOfKey } from "./object-path.js";
export { childrenOf, listenerAt, otherEndOf, parentsOf } from "./relations.js";
export { listenerOf, rolesOf } from "./socket-roles.js";
