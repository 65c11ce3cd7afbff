import { basename } from "node:path";
import type { Entry, StdioEntry } from "../config/entry.js";
import { variableUses } from "../config/substitute-entry.js";
import { literalOf, pluginRootVariable, variablesOf } from "../config/template.js";
import { parseUrlTemplate, variableMark } from "../config/url-template.js";
import { isLauncher } from "../process/resolve-command.js";
import { quoteUnlessPlain } from "./quoted-text.js";

// Variables by which a process is made to load or run something else.
const loaders =
  /^(?:PATH|SHELL|ENV|BASH_ENV|IFS|LD_.*|DYLD_.*|NODE_OPTIONS|NODE_PATH|NODE_EXTRA_CA_CERTS|PYTHON.*|PERL5.*|RUBYOPT|RUBYLIB|_?JAVA_.*|JDK_JAVA_OPTIONS|CLASSPATH|GIT_.*|NPM_CONFIG_.*|UV_.*|PIP_.*|DENO_.*|BUN_.*|DOTNET_.*|EDITOR|PAGER|BROWSER)$/i;
const interpreters =
  /^(?:(?:ba|da|z|k|fi)?sh|node|nodejs|deno|bun|python[\d.]*|perl|ruby|php|osascript|pwsh|powershell|cmd)(?:\.exe)?$/i;
const inlineCode = /^(?:-\w*[cepr]|\/c|-command|-encodedcommand|--eval|--print|eval)$/i;

/** What a person may not see at once, in sentences: where values go, and what an approval cannot cover. */
export function noticesOf(entry: Entry): string[] {
  return [...programNotices(entry), ...(entry.type === "stdio" ? stdioNotices(entry) : urlNotices(entry))];
}

function programNotices(entry: Entry): string[] {
  const program = entry.type === "stdio" ? entry.command : entry.headersHelper;
  const subject = entry.type === "stdio" ? "It" : "Its helper";
  const notices = entry.sandbox
    ? []
    : [`${subject} asks to run without the sandbox (sandbox: false): it can then read the tokens of all servers.`];
  const names = variablesOf(program?.template ?? { text: "", parts: [], malformed: [] })
    .map(({ name }) => name)
    .filter((name) => name !== pluginRootVariable);
  if (program === undefined || names.length === 0) return notices;
  return [...notices, `Which program ${program.field} runs depends on your ${[...new Set(names)].join(", ")}.`];
}

function stdioNotices(entry: StdioEntry): string[] {
  const notices: string[] = [];
  const program = basename(literalOf(entry.command.template));
  const args = entry.args.map(({ template }) => template.text);
  if (interpreters.test(program) && args.some((arg) => inlineCode.test(arg))) {
    notices.push("Its arguments hold code that is run. Read them.");
  }
  if (isLauncher(program)) {
    notices.push("It may download the program that it runs: an approval does not cover what it downloads.");
  }
  for (const { name } of entry.env.filter((variable) => loaders.test(variable.name))) {
    notices.push(`The variable ${quoteUnlessPlain(name)} can make the process load or run something else.`);
  }
  for (const { variable, field, isSecret } of variableUses(entry)) {
    if (!isSecret || !field.startsWith("args[")) continue;
    notices.push(`The value of ${variable} is an argument: other users of this machine can see it.`);
  }
  return notices;
}

function urlNotices(entry: Exclude<Entry, StdioEntry>): string[] {
  const { regions = [], host = "" } = parseUrlTemplate(entry.url.template) ?? {};
  return variablesOf(entry.url.template).map(({ name }, index) => {
    const region = regions[index] ?? "path";
    if (region === "origin" || region === "scheme" || (region === "host" && host.endsWith(variableMark))) {
      return `Your ${name} decides where the url leads, and so who gets what the entry sends.`;
    }
    return region === "host"
      ? `The value of ${name} is part of the host: everyone who resolves the name sees it.`
      : `The value of ${name} goes to the server in the ${region} of the url, where logs may keep it.`;
  });
}
