export { type BridgeOptions, runBridge } from "./run-bridge.js";
