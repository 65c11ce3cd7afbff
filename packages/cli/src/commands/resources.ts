import type { Resource } from "@wirescope/tool-server";
import { formatJson } from "../output/json.js";
import { type Column, renderTable } from "../output/table.js";
import { jsonOf } from "../tool-server/json-of.js";
import { renderContent } from "../tool-server/render-content.js";
import { saveInto } from "../tool-server/saved-files.js";
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
  parameters: ["[server]", "[uri]"],
  options: {
    save: { type: "string", placeholder: "directory", help: "folder for binary results; default: the current folder" },
  },
  notes: ["The list includes templates: URIs with placeholders in braces."],
  async use({ servers, screen, io, values, positionals }) {
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
    const { outcomeToJson, reportFailedServers, withEachServer } = await import("../tool-server/each-server.js");
    const outcomes = await withEachServer(servers, servers.namesOf(server), async (connection) => {
      const { resources } = await connection.listResources();
      const { resourceTemplates } = await connection.listResourceTemplates();
      return { resources, resourceTemplates };
    });
    if (values.json) {
      const all = outcomes.map((outcome) => [outcome.server, outcomeToJson(outcome, (value) => value)]);
      screen.print(formatJson(jsonOf(Object.fromEntries(all))));
      return outcomes.some((outcome) => "error" in outcome) ? 1 : 0;
    }
    const hasFailed = reportFailedServers(outcomes, io);
    const rows = outcomes.flatMap((outcome): Row[] => {
      if (!("value" in outcome)) return [];
      const { resources, resourceTemplates } = outcome.value;
      const templates = resourceTemplates.map((template) => ({ ...template, uri: template.uriTemplate }));
      return [...resources, ...templates].map((resource: Pick<Resource, "uri" | "name" | "mimeType">) => ({
        server: outcome.server,
        uri: resource.uri,
        name: resource.name,
        mimeType: resource.mimeType,
      }));
    });
    if (rows.length > 0) screen.printAll(renderTable(columns, rows, screen.width));
    else if (!hasFailed) screen.print("No resources.");
    return hasFailed ? 1 : 0;
  },
});

const columns: Column<Row>[] = [
  { title: "SERVER", least: 8, text: ({ server }) => server },
  { title: "URI", least: 24, text: ({ uri }) => uri },
  { title: "TYPE", least: 8, text: ({ mimeType }) => mimeType ?? "-" },
  { title: "NAME", least: 8, text: ({ name }) => name },
];
