import { type McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import { png } from "./contents.js";

/** The resources, of which one is watched. */
export function registerResources(server: McpServer): void {
  const plain = { mimeType: "text/plain" };
  server.registerResource("static-text", "test://static-text", { description: "Text", ...plain }, ({ href }) => ({
    contents: [{ uri: href, ...plain, text: "This is the content of the static text resource." }],
  }));
  server.registerResource(
    "static-binary",
    "test://static-binary",
    { description: "An image", mimeType: "image/png" },
    ({ href }) => ({ contents: [{ uri: href, mimeType: "image/png", blob: png }] }),
  );
  server.registerResource(
    "watched-resource",
    "test://watched-resource",
    { description: "Text that may be watched", ...plain },
    ({ href }) => ({ contents: [{ uri: href, ...plain, text: "Watched resource content" }] }),
  );
  server.registerResource(
    "template",
    new ResourceTemplate("test://template/{id}/data", { list: undefined }),
    { description: "Data by its id", mimeType: "application/json" },
    ({ href }, { id }) => ({
      contents: [
        {
          uri: href,
          mimeType: "application/json",
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
        },
      ],
    }),
  );
}
