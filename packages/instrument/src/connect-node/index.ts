export { type ObserveTransportOptions, observeTransport, type TransportOptions } from "./observe-transport.js";
