import { formatJson, jsonOf } from "../output/json.js";
import { type Column, renderTable } from "../output/table.js";
import { renderContent, saveInto } from "../tool-server/render-content.js";
import type { Command } from "./command.js";
import { defineServerCommand } from "./define-server-command.js";

interface Row {
  readonly server: string;
  readonly uri: string;
  readonly name: string;
  readonly mimeType: string | undefined;
}

/** Lists resources, or reads one. */
export const resourcesCommand: Command = defineServerCommand({
  name: "resources",
  summary: "list the resources of all servers or of one, or read a resource",
  parameters: ["[server|url]", "[uri]"],
  options: {
    save: { type: "string", placeholder: "directory", help: "folder for binary results; default: the current folder" },
  },
  notes: ["The list includes templates: URIs with placeholders in braces."],
  async use(context) {
    const { servers, screen, values, positionals, adHoc } = context;
    const [server, uri] = positionals;
    if (server !== undefined && uri !== undefined) {
      const connection = await servers.open(server);
      const result = await connection.readResource({ uri });
      if (values.json) screen.print(formatJson(jsonOf(result)));
      else {
        const parts = result.contents.map((content) => ({ type: "resource", ...content }));
        screen.printAll(renderContent(parts, screen.palette, saveInto(values.save ?? ".", "resource")));
      }
      return 0;
    }
    const { printListing } = await import("../tool-server/each-server.js");
    return printListing(context, {
      names: servers.namesOf(server),
      methods: ["resources/list", "resources/templates/list"],
      async task(connection) {
        const { resources } = await connection.listResources();
        const { resourceTemplates } = await connection.listResourceTemplates();
        return { resources, resourceTemplates };
      },
      toJson: (lists) => lists,
      rowsOf({ resources, resourceTemplates }, from): Row[] {
        const templates = resourceTemplates.map((template) => ({ ...template, uri: template.uriTemplate }));
        return [...resources, ...templates].map(({ uri: each, name, mimeType }) => ({
          server: from,
          uri: each,
          name,
          mimeType,
        }));
      },
      render: (rows) => renderTable(adHoc === undefined ? columns : columns.slice(1), rows, screen.width),
      empty: "No resources.",
    });
  },
});

const columns: Column<Row>[] = [
  { title: "SERVER", minWidth: 8, text: ({ server }) => server },
  { title: "URI", minWidth: 24, text: ({ uri }) => uri },
  { title: "TYPE", minWidth: 8, text: ({ mimeType }) => mimeType ?? "-" },
  { title: "NAME", minWidth: 8, text: ({ name }) => name },
];
