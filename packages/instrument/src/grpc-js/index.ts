export { type GrpcJsObservation, observeGrpcJs } from "./observe-grpc-js.js";
