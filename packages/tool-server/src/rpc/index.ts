export * from "./envelope.js";
export * from "./json-rpc.js";
export * from "./lines.js";
export * from "./message.js";
export * from "./protocol.js";
export * from "./rpc-error.js";
export * from "./transient-map.js";
