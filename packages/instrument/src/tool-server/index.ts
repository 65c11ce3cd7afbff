export {
  type ObserveToolServersOptions,
  observeToolServers,
  type ToolServersObservation,
} from "./observe-tool-servers.js";
