import { commonOptions } from "../options.js";
import { formatJson, jsonOf } from "../output/json.js";
import { createScreen, type Screen } from "../output/screen.js";
import { type Column, renderTable } from "../output/table.js";
import { configurationOptions, serverOptions } from "../tool-server/server-options.js";
import { UsageError } from "../usage-error.js";
import { type Command, defineCommand } from "./command.js";

const options = {
  forget: { type: "boolean", help: "delete the stored value" },
  ...configurationOptions,
  "env-file": serverOptions["env-file"],
  profile: serverOptions.profile,
  vault: serverOptions.vault,
  json: serverOptions.json,
  ...commonOptions,
} as const;

interface InputRow {
  readonly id: string;
  readonly servers: readonly string[];
  readonly value: string;
  readonly description: string | undefined;
}

/** Lists the inputs of a configuration, or stores the value of one. */
export const inputsCommand: Command = defineCommand(
  {
    name: "inputs",
    summary: "list the values that the configuration asks for as ${input:id}, or enter one",
    parameters: ["[id]"],
    options,
    notes: [
      "With an id, it asks for the value and stores it in the vault, for this configuration file. Values are never printed.",
      "Commands that connect, and up at a terminal, ask for missing values of approved servers. A variable such as",
      "INPUT_API_KEY for ${input:api-key} takes precedence. A running gateway uses a new value after wirescope reload.",
      "The exit code is 1 if a value is missing.",
    ],
  },
  async ({ values, positionals: [id], io }) => {
    if (values.forget && id === undefined) throw new UsageError("--forget requires the id of an input.");
    const { inputsOf, readVariables } = await import("@wirescope/tool-server/internal");
    const { loadConfiguration, asUsageError } = await import("../tool-server/loaded-configuration.js");
    const { openInputValues } = await import("../tool-server/input-values.js");
    const { openVault } = await import("../tool-server/open-vault.js");
    const { file, configuration, secrets } = await loadConfiguration(values);
    const { variables } = await asUsageError(() => readVariables(values["env-file"], io.env));
    const ids = new Set([...configuration.inputs.map((input) => input.id), ...configuration.entries.flatMap(inputsOf)]);
    if (id !== undefined && !ids.has(id)) {
      throw new UsageError(`Unknown input ${JSON.stringify(id)}. Inputs: ${[...ids].join(", ") || "none"}.`);
    }
    if (id !== undefined && !values.forget && io.ask === undefined) {
      throw new UsageError("A value must be entered at a terminal. To set it without one, use a variable.");
    }
    const screen = createScreen(io, values["no-color"]);
    const vault = await openVault(values.vault, io, secrets, id === undefined || values.forget ? "never" : "ask");
    try {
      const profile = values.profile ?? (io.env.WIRESCOPE_PROFILE || undefined);
      const inputs = openInputValues({ configuration, file, variables, profile, vault, secrets, io });
      if (id !== undefined) {
        const isDone = values.forget ? await inputs.forget(id) : await inputs.ask(id);
        const [done, not] = values.forget ? ["deleted", "had no value"] : ["stored", "was not entered"];
        const text = `The value of ${id} ${isDone ? `is ${done}` : not}.`;
        screen.print(values.json ? formatJson({ [id]: isDone ? done : not }) : text);
        return isDone ? 0 : 1;
      }
      const rows = await Promise.all(
        [...ids].map(async (each): Promise<InputRow> => {
          const source = await inputs.sourceOf(each);
          return {
            id: each,
            servers: configuration.entries.filter((entry) => inputsOf(entry).includes(each)).map(({ name }) => name),
            value: source === "vault" ? "stored" : source === "variable" ? "variable" : "missing",
            description: configuration.inputs.find((input) => input.id === each)?.description,
          };
        }),
      );
      if (values.json) screen.print(formatJson(jsonOf(rows)));
      else if (rows.length === 0) screen.print("The configuration has no inputs.");
      else screen.printAll(renderTable(columns(screen), rows, screen.width));
      return rows.some(({ value, servers }) => value === "missing" && servers.length > 0) ? 1 : 0;
    } finally {
      await vault.dispose();
    }
  },
);

function columns({ palette }: Screen): Column<InputRow>[] {
  return [
    { title: "INPUT", minWidth: 8, text: ({ id }) => id, paint: () => palette.strong },
    {
      title: "VALUE",
      text: ({ value }) => value,
      paint: ({ value }) => (value === "missing" ? palette.warning : palette.good),
    },
    { title: "SERVERS", minWidth: 8, text: ({ servers }) => servers.join(", ") || "-" },
    { title: "DESCRIPTION", minWidth: 12, text: ({ description }) => description ?? "-" },
  ];
}
