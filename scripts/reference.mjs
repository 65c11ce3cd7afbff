// Writes docs/reference.md from the tables and schemas that the code itself uses.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./up-to-date.mjs";

/** Writes the page. The packages must be built. */
export async function writeReference() {
  writeFileSync(join(root, "docs", "reference.md"), await referenceText());
}

/** The text of the page. The packages must be built. */
export async function referenceText() {
  const load = (path) => import(join(root, "packages", path));
  const { commands } = await load("cli/dist/command-table.js");
  const { commonOptions } = await load("cli/dist/options.js");
  const { environmentVariables } = await load("cli/dist/environment-variables.js");
  const { oauthFieldTable } = await load("tool-server/dist/config/oauth-settings.js");
  const { gatewayLimits } = await load("cli/dist/up/gateway-settings.js");
  const { completeLimits } = await load("gateway/dist/limits.js");
  const schema = (name) =>
    JSON.parse(readFileSync(join(root, "packages", "tool-server", "schema", `${name}.schema.json`), "utf8"));
  const { definitions: entry } = schema("mcp");
  const policy = schema("policy");

  return `${[
    "# Reference",
    "Every configuration field, command-line option and environment variable. This page is generated (`npm run generate`)\nfrom the tables and schemas that the code uses.",
    "[Errors](errors.md), [metrics and traces](telemetry.md) and [rules of `wirescope check`](configuration.md#rules) have their own pages.",

    "## Configuration file",
    "`.mcp.json`, described in [configuration](configuration.md). Schema: `packages/tool-server/schema/mcp.schema.json`.",
    "### Remote servers",
    fields(entry.network),
    "### Local servers (stdio)",
    fields(entry.stdio),

    "## Policy file",
    "`policy.json`, described in [trust](trust.md). Schema: `packages/tool-server/schema/policy.schema.json`.",
    fields(policy),

    "## Gateway settings",
    "`wirescope/gateway.json` in the configuration folder, or the file of `--settings`, described in [the gateway](gateway.md#settings).",
    "`tools` filters the tools of each server: `allow` and `deny` are lists of names in which `*` matches any characters. `limits` sets:",
    table(
      ["limit", "what it limits", "default"],
      Object.entries(completeLimits()).map(([name, value]) => [
        code(name),
        gatewayLimits[name],
        Number.isFinite(value) ? String(value) : "none",
      ]),
    ),

    "## OAuth settings",
    "`wirescope/oauth.json` in the configuration folder: one object per server, by its name, described in [sign-in](oauth.md). The `oauth`\nobject of an entry may have those that are marked. Strings may contain variables.",
    table(
      ["field", "type", "in an entry", "meaning"],
      Object.entries(oauthFieldTable).map(([name, { kind, inEntry, help }]) => [
        code(name),
        kind,
        inEntry ? "yes" : "",
        help,
      ]),
    ),

    "## Environment variables",
    table(
      ["variable", "meaning"],
      environmentVariables.map(({ name, help }) => [name.split(", ").map(code).join(", "), help]),
    ),

    "## Commands",
    `Every command takes ${Object.keys(commonOptions)
      .map((name) => code(`--${name}`))
      .join(" and ")}.`,
    ...commands.flatMap(({ name, parameters, summary, options }) => [
      `### ${["wirescope", name, ...parameters].join(" ")}`,
      `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`,
      optionTable(options, commonOptions),
    ]),
  ]
    .filter((part) => part !== "")
    .join("\n\n")}\n`;
}

function fields({ properties, required = [] }) {
  return table(
    ["field", "type", "meaning"],
    Object.entries(properties)
      .filter(([name]) => name !== "$schema")
      .map(([name, { type, enum: values, items, description = "" }]) => [
        required.includes(name) ? `${code(name)} (required)` : code(name),
        values === undefined
          ? type === "array"
            ? `list of ${items?.type ?? "object"}s`
            : type
          : values.map((each) => code(JSON.stringify(each))).join(", "),
        description,
      ]),
  );
}

function optionTable(options, common) {
  const rows = Object.entries(options)
    .filter(([name]) => !Object.hasOwn(common, name))
    .map(([name, { type, placeholder, choices, short, multiple, help }]) => {
      const value = type === "string" ? ` <${placeholder ?? choices?.join("|") ?? name}>` : "";
      return [
        `${short ? `${code(`-${short}`)}, ` : ""}${code(`--${name}${value}`)}`,
        `${help}${multiple ? "; may be repeated" : ""}`,
      ];
    });
  return rows.length === 0 ? "" : table(["option", "meaning"], rows);
}

function table(headings, rows) {
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
  return [line(headings), `|${headings.map(() => "---").join("|")}|`, ...rows.map(line)].join("\n");
}

function code(text) {
  return `\`${text}\``;
}
