import "./app-frame.css";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ErrorNote, Loading } from "../../design/index.js";
import { visibleLine, visibleText } from "../../design/visible-text.js";
import {
  type AppDocument,
  endOfRun,
  type Offer,
  objectOf,
  offers,
  type Run,
  readApp,
  startRun,
} from "../../shell/mcp/index.js";
import { parseWebUrl } from "../web-url.js";
import { type AppBridge, createAppBridge } from "./app-bridge.js";
import { type AppRequest, AppRequestNote } from "./app-request-note.js";

/** The resource URI of a tool's app; undefined if it has none. */
export function appUriOf({ definition }: Offer): string | undefined {
  const meta = objectOf(definition._meta);
  // Earlier servers have a flat key.
  const uri = objectOf(meta.ui).resourceUri ?? meta["ui/resourceUri"];
  return typeof uri === "string" && uri.startsWith("ui://") ? uri : undefined;
}

let lastRequestId = 0;

/**
 * A tool's app, in a frame with its own origin. It can load only from the origins that it declares. It can request only tools and
 * resources of its own server, and the user decides each time.
 */
export function AppFrame({
  offer,
  uri,
  run,
}: {
  readonly offer: Offer;
  readonly uri: string;
  readonly run: Run;
}): VNode {
  const frame = useRef<HTMLIFrameElement>(null);
  const bridge = useRef<AppBridge | undefined>(undefined);
  const isReady = useRef(false);
  const isTrusted = useRef(false);
  const [app, setApp] = useState<AppDocument>();
  const html = app?.html;
  const [error, setError] = useState<unknown>();
  const [pending, setPending] = useState<readonly AppRequest[]>([]);
  const [height, setHeight] = useState(240);

  useEffect(() => {
    const controller = new AbortController();
    readApp(uri, controller.signal).then(setApp, (reason) => {
      if (!controller.signal.aborted) setError(reason);
    });
    return () => controller.abort();
  }, [uri]);

  const ask = (request: Omit<AppRequest, "id" | "decide">): Promise<void> =>
    new Promise((resolve, reject) => {
      const decide = (isAllowed: boolean): void => {
        setPending((list) => list.filter((each) => each !== full));
        if (isAllowed) resolve();
        else reject(new Error("The user declined the request."));
      };
      lastRequestId += 1;
      const full: AppRequest = { ...request, id: lastRequestId, decide };
      setPending((list) => [...list, full]);
    });

  const sendResult = (): void => {
    if (isReady.current && run.result !== undefined) {
      bridge.current?.notify("ui/notifications/tool-result", run.result);
    }
  };
  const latest = useRef({ run, sendResult });
  latest.current = { run, sendResult };
  useEffect(sendResult, [run.result]);

  useEffect(() => {
    const { contentWindow } = frame.current ?? {};
    if (html === undefined || contentWindow === null || contentWindow === undefined) return undefined;
    const own = createAppBridge({
      post: (message) => contentWindow.postMessage(message, "*"),
      onHeight: setHeight,
      onReady() {
        isReady.current = true;
        own.notify("ui/notifications/tool-input", { arguments: latest.current.run.params.arguments ?? {} });
        latest.current.sendResult();
      },
      context: () => ({
        theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
        displayMode: "inline",
        availableDisplayModes: ["inline"],
        platform: "web",
        toolInfo: { tool: { ...offer.definition, name: offer.name } },
      }),
      async callTool(name, args) {
        const target = offers.peek().tool?.find((each) => each.server === offer.server && each.name === name);
        if (target === undefined) throw new Error("The server of this app has no such tool.");
        if (!isTrusted.current) {
          await ask({ text: `call ${target.name}`, detail: JSON.stringify(args) ?? "", isTool: true });
        }
        return resultOf(await endOfRun(startRun(target, "tools/call", { name: target.key, arguments: args })));
      },
      async readResource(wanted) {
        const target = offers.peek().resource?.find((each) => each.server === offer.server && each.key === wanted);
        if (target === undefined) throw new Error("The server of this app does not list this resource.");
        await ask({ text: "read a resource", detail: wanted, isTool: false });
        return resultOf(await endOfRun(startRun(target, "resources/read", { uri: wanted })));
      },
      async openLink(wanted) {
        const parsed = parseWebUrl(wanted);
        if (parsed === undefined) throw new Error("Only addresses with http or https can be opened.");
        await ask({ text: "open a page", detail: parsed.href, url: parsed.href, isTool: false });
      },
    });
    bridge.current = own;
    const onMessage = ({ source, data }: MessageEvent<unknown>): void => {
      // The frame has an opaque origin, so the window is compared instead.
      if (source !== contentWindow) return;
      if (objectOf(data).type === "wirescope-app-frame-ready") {
        contentWindow.postMessage({ type: "wirescope-app-html", html }, "*");
      } else own.receive(data);
    };
    addEventListener("message", onMessage);
    return () => removeEventListener("message", onMessage);
  }, [html]);

  useEffect(() => {
    frame.current?.style.setProperty("height", `${height}px`);
  }, [height, html]);

  if (error !== undefined) return <ErrorNote error={error} />;
  if (app === undefined) return <Loading what="app" />;
  const [request] = pending;
  const hosts = [...new Set(app.origins.map(([, origin]) => origin))];
  return (
    <figure class="app-frame">
      <figcaption class="soft">
        App of {visibleLine(offer.server)}, without access to this page
        {hosts.length > 0 && `. It asks to load from ${visibleText(hosts.join(", "))}`}
      </figcaption>
      {request !== undefined && (
        <AppRequestNote
          key={request.id}
          request={request}
          onAllowAll={() => {
            isTrusted.current = true;
            for (const each of pending) if (each.isTool) each.decide(true);
          }}
        />
      )}
      <iframe
        ref={frame}
        title={`App of ${visibleLine(offer.name)}`}
        sandbox="allow-scripts"
        src={`/app-frame?${new URLSearchParams(app.origins.map(([directive, origin]) => [directive, origin]))}`}
      />
    </figure>
  );
}

function resultOf(run: Run | undefined): unknown {
  if (run?.result !== undefined) return run.result;
  throw new Error(run?.error ?? "The call was cancelled.");
}
