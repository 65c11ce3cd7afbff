import { commonOptions } from "../options.js";
import { adHocOptions } from "../tool-server/ad-hoc-server.js";

const ownOptions = {
  type: {
    type: "string",
    choices: ["http", "sse", "ws"],
    help: "transport of a url: Streamable HTTP, HTTP with SSE, or WebSocket; default: by the url",
  },
  replace: { type: "boolean", help: "replace an entry of the same name" },
  "dry-run": { type: "boolean", help: "show the entry without writing it" },
  config: {
    type: "string",
    placeholder: "file",
    help: "file to change; default: .mcp.json in this folder or, in a git repository, in a parent folder; else a new one here",
  },
  "env-file": {
    type: "string",
    multiple: true,
    placeholder: "file",
    help: "file of variables in the url, which the approval covers",
  },
  json: { type: "boolean", help: "print JSON instead of text" },
} as const;

/** Options of `add`. */
export const addOptions: typeof adHocOptions & typeof ownOptions & typeof commonOptions = {
  ...adHocOptions,
  ...ownOptions,
  ...commonOptions,
};
