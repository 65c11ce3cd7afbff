import { sessionHeaders } from "../store/session.js";
import { createMcpClient, type McpClient } from "./mcp-client.js";

/** The extension by which the gateway reports which server offers an item. */
export const originExtension = "io.wirescope/origin";

/** The page's MCP client for its gateway. It supports requests that the user can respond to, and never responds by itself. */
export const gatewayClient: McpClient = createMcpClient({
  endpoint: "/mcp",
  headers: sessionHeaders,
  info: { name: "wirescope-page", version: "0.1.0" },
  capabilities: {
    elicitation: { form: {}, url: {} },
    sampling: {},
    extensions: {
      [originExtension]: {},
      "io.modelcontextprotocol/tasks": {},
      "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] },
    },
  },
});
