export { isInsideGrpcJs } from "./inside-grpc-js.js";
export { type GrpcJsObservation, observeGrpcJs } from "./observe-grpc-js.js";
