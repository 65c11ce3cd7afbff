import { isSecretName } from "../secrets/secret-names.js";
import type { NetworkType, TextField } from "./entry.js";
import type { Report } from "./finding.js";
import { variablesOf } from "./template.js";
import { parseUrlTemplate, type UrlTemplate, variableMark } from "./url-template.js";

/** Holds the url of an entry against its rules, as far as they can be told without values. */
export function judgeUrl(field: TextField, type: NetworkType, allowsLoopback: boolean, report: Report): void {
  const url = parseUrlTemplate(field.template);
  const secure = type === "ws" ? "wss" : "https";
  if (url === undefined) {
    report(
      "url-invalid",
      "error",
      field,
      "The url is not an absolute URL.",
      `Write ${secure}://host/path, without spaces.`,
    );
    return;
  }
  judgeScheme(field, url, type, allowsLoopback, report);
  if (url.hasUser) {
    report(
      "url-credentials",
      "error",
      field,
      "The url carries a user name or password.",
      "Send them in a header: Authorization with Basic and the base64 of user:password in a variable.",
    );
  }
  if (url.hasFragment) {
    report(
      "url-fragment",
      "warning",
      field,
      "The url has a fragment, which is never sent.",
      "Take away # and what follows.",
    );
  }
  judgeVariables(field, url, report);
}

/** Whether a host is of this machine alone, whatever a resolver says; so a name below localhost is not. */
function isSurelyLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}$/.test(host);
}

function judgeScheme(
  field: TextField,
  { scheme, host }: UrlTemplate,
  type: NetworkType,
  allowsLoopback: boolean,
  report: Report,
): void {
  const [secure, insecure] = type === "ws" ? ["wss", "ws"] : ["https", "http"];
  if (scheme === secure || scheme.includes(variableMark)) return;
  if (scheme !== insecure) {
    const fits = scheme === "ws" || scheme === "wss" ? ' If it is a WebSocket server, its type is "ws".' : "";
    report(
      "url-scheme",
      "error",
      field,
      `An entry of type ${type} has a url of ${secure}.`,
      `Start the url with ${secure}://.${fits}`,
    );
  } else if (!isSurelyLoopback(host)) {
    const message = `The url is of ${insecure}: everything on the way could read and change what is sent, credentials too.`;
    report("url-insecure", "error", field, message, `Start the url with ${secure}://.`);
  } else if (allowsLoopback) {
    report(
      "url-loopback",
      "note",
      field,
      `${insecure} to this machine is allowed for now.`,
      `Use ${secure}:// for everyone else.`,
    );
  } else {
    report(
      "url-loopback",
      "error",
      field,
      `The url is of ${insecure}; to this machine that is possible, but only when asked for.`,
      `Start the url with ${secure}://, or allow it with --allow-insecure-loopback.`,
    );
  }
}

function judgeVariables(field: TextField, { host, regions }: UrlTemplate, report: Report): void {
  const variables = variablesOf(field.template);
  regions.forEach((region, index) => {
    const name = variables[index]?.name ?? "";
    if (region === "scheme" || region === "fragment" || region === "user") {
      if (region === "scheme") {
        report(
          "url-variable",
          "error",
          field,
          `${name} stands in the scheme of the url.`,
          "Write https:// or wss:// out.",
        );
      }
      return;
    }
    if (!isSecretName(name)) return;
    report(
      "url-secret",
      region === "host" ? "error" : "warning",
      field,
      `${name} looks like a secret, and the ${region} of a url is kept in logs and histories.`,
      `Send it in a header: "Authorization": "Bearer \${${name}}".`,
    );
  });
  const open = host.includes(variableMark) ? host.slice(host.lastIndexOf(variableMark) + 1) : undefined;
  // What follows must name a domain: two labels that are written out and are no part of an address of digits.
  if (open !== undefined && !/\.(?:[\w-]+\.)*(?:[\w-]+\.[a-z][\w-]*|localhost)\.?$/i.test(open)) {
    report(
      "url-host-open",
      "error",
      field,
      "A variable decides which host is called, and so who gets the credentials.",
      "Write the domain out and leave one label to the variable: https://${TENANT_ID}.example.com.",
    );
  }
}
