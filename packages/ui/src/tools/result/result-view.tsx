import "./result-view.css";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Button, Copy, Tabs } from "../../design/index.js";
import { visibleLine } from "../../design/visible-text.js";
import type { RpcObject } from "../../shell/mcp/index.js";
import { Link } from "../../shell/routing/index.js";
import { type ContentBlock, formatBytes, resultView, type ShownText } from "./content-blocks.js";

/** The result of a tool: its content, its structured data, and the whole as JSON. */
export function ToolResult({ result }: { readonly result: RpcObject }): VNode {
  const view = resultView(result);
  const [chosen, setTab] = useState<"content" | "structured" | "json">("content");
  const hasContent = view.blocks.length > 0;
  const tab = chosen === "content" && !hasContent && view.structured !== undefined ? "structured" : chosen;
  return (
    <div class="result">
      <Tabs
        label="Parts of the result"
        tabs={[
          { key: "content", title: "Content", count: view.blocks.length },
          ...(view.structured === undefined ? [] : [{ key: "structured" as const, title: "Structured" }]),
          { key: "json", title: "JSON" },
        ]}
        selected={tab}
        onSelect={setTab}
      />
      {tab === "content" && (hasContent ? <Blocks blocks={view.blocks} /> : <p class="soft">The content is empty.</p>)}
      {tab === "structured" && view.structured !== undefined && <Text text={view.structured} isCode />}
      {tab === "json" && <Text text={view.json} isCode />}
    </div>
  );
}

export function Blocks({ blocks }: { readonly blocks: readonly ContentBlock[] }): VNode {
  return (
    <ul class="blocks">
      {blocks.map((block, index) => (
        <li key={index}>
          <Block block={block} />
        </li>
      ))}
    </ul>
  );
}

function Block({ block }: { readonly block: ContentBlock }): VNode {
  switch (block.kind) {
    case "text":
      return <Text text={block.text} isCode={block.isJson} />;
    case "image":
      return (
        <figure class="block-media">
          <img src={block.source} alt={`Result (${block.mimeType})`} />
          <figcaption class="soft">
            {block.mimeType}, {formatBytes(block.bytes)}
          </figcaption>
        </figure>
      );
    case "audio":
      return (
        <figure class="block-media">
          {/* biome-ignore lint/a11y/useMediaCaption: servers send no captions. */}
          <audio controls src={block.source} />
          <figcaption class="soft">
            {block.mimeType}, {formatBytes(block.bytes)}
          </figcaption>
        </figure>
      );
    case "data":
      return <Download base64={block.base64} mimeType={block.mimeType} bytes={block.bytes} />;
    case "link":
      return (
        <div class="block-link">
          <Link to={`/resources?${new URLSearchParams({ uri: block.uri })}`}>{block.name}</Link>
          <code>{visibleLine(block.uri)}</code>
          {block.notes.map((note) => (
            <span key={note} class="soft">
              {note}
            </span>
          ))}
        </div>
      );
    case "resource":
      return (
        <div class="block-resource">
          <p class="block-title">
            <Copy text={block.uri} what="URI" />
            <code>{visibleLine(block.uri)}</code> <span class="soft">{block.mimeType}</span>
          </p>
          <Block block={block.content} />
        </div>
      );
    case "note":
      return <p class="soft">{block.text}</p>;
  }
}

/** Plain text with its line breaks, never markup. */
export function Text({ text, isCode = false }: { readonly text: ShownText; readonly isCode?: boolean }): VNode {
  const isCut = text.shown.length < text.whole.length && text.whole.length > 100_000;
  return (
    <div class="block-text">
      {/* It scrolls, so the keyboard must reach it. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: see above. */}
      <pre class={isCode ? "block-code" : "block-prose"} tabIndex={0}>
        {text.shown}
      </pre>
      <span class="block-copy">
        <Copy text={text.whole} what="text" />
      </span>
      {isCut && (
        <p class="soft">
          {formatBytes(text.whole.length)} in total; only the beginning is shown. The copy button copies all of it.
        </p>
      )}
    </div>
  );
}

/** Data that the user can save. Its type is plain bytes, so the browser never shows it. */
function Download({
  base64,
  mimeType,
  bytes,
}: {
  readonly base64: string;
  readonly mimeType: string;
  readonly bytes: number;
}): VNode {
  const [url, setUrl] = useState<string>();
  useEffect(() => () => URL.revokeObjectURL(url ?? ""), [url]);
  const save = (): void => {
    try {
      const data = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
      const next = URL.createObjectURL(new Blob([data], { type: "application/octet-stream" }));
      setUrl(next);
      const link = document.createElement("a");
      link.href = next;
      link.download = "result.bin";
      link.click();
    } catch {
      setUrl(undefined);
    }
  };
  return (
    <p class="block-data">
      <span>
        {mimeType === "" ? "Data" : mimeType}, {formatBytes(bytes)}
      </span>
      <Button isSmall onClick={save}>
        Save
      </Button>
    </p>
  );
}
