import { printableText } from "@wirescope/channelz/internal";
import type { Prompt } from "@wirescope/tool-server";
import { formatJson, jsonOf } from "../output/json.js";
import { type Column, renderTable } from "../output/table.js";
import { parseCallArguments } from "../tool-server/call-arguments.js";
import { renderContent, saveInto } from "../tool-server/render-content.js";
import type { Command } from "./command.js";
import { defineServerCommand } from "./define-server-command.js";

/** Lists prompts, or gets one. */
export const promptsCommand: Command = defineServerCommand({
  name: "prompts",
  summary: "list the prompts of all servers or of one, or get a prompt",
  parameters: ["[server|url]", "[prompt]", "[key=value …]"],
  options: {
    save: {
      type: "string",
      placeholder: "directory",
      help: "folder for images and other binary results; default: the current folder",
    },
  },
  async use(context) {
    const { servers, screen, values, positionals, adHoc } = context;
    const [server, name, ...words] = positionals;
    if (server !== undefined && name !== undefined) {
      const connection = await servers.open(server);
      const given = Object.entries(parseCallArguments(words, {})).map(([key, value]) => [key, String(value)] as const);
      const result = await connection.getPrompt({ name, arguments: Object.fromEntries(given) });
      if (values.json) screen.print(formatJson(jsonOf(result)));
      else {
        for (const { role, content } of result.messages) {
          screen.print(screen.palette.strong(`${printableText(role)}:`));
          screen.printAll(renderContent([content], screen.palette, saveInto(values.save ?? ".", name)));
        }
      }
      return 0;
    }
    const { printListing } = await import("../tool-server/each-server.js");
    return printListing(context, {
      names: servers.namesOf(server),
      methods: ["prompts/list"],
      task: async (connection) => (await connection.listPrompts()).prompts,
      toJson: (prompts) => ({ prompts }),
      rowsOf: (prompts, from) => prompts.map((prompt) => ({ server: from, prompt })),
      render: (rows) => renderTable(adHoc === undefined ? columns : columns.slice(1), rows, screen.width),
      empty: "No prompts.",
    });
  },
});

const columns: Column<{ readonly server: string; readonly prompt: Prompt }>[] = [
  { title: "SERVER", minWidth: 8, text: ({ server }) => server },
  { title: "PROMPT", minWidth: 12, text: ({ prompt }) => prompt.name },
  {
    title: "ARGUMENTS",
    minWidth: 10,
    text: ({ prompt }) =>
      prompt.arguments?.map(({ name, required }) => (required ? name : `[${name}]`)).join(" ") || "-",
  },
  { title: "DESCRIPTION", minWidth: 12, text: ({ prompt }) => prompt.description?.trim().split("\n", 1)[0] ?? "-" },
];
