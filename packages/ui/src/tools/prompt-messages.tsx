import type { VNode } from "preact";
import { visibleLine } from "../design/visible-text.js";
import { contentBlocks } from "./result/content-blocks.js";
import { Blocks } from "./result/result-view.js";

/** Messages of a prompt or of a sampling request, with their roles. */
export function PromptMessages({ messages }: { readonly messages: unknown }): VNode {
  const list: readonly unknown[] = Array.isArray(messages) ? messages.slice(0, 100) : [];
  return (
    <ol class="messages">
      {list.map((message, index) => {
        const { role, content } = (message ?? {}) as { readonly role?: unknown; readonly content?: unknown };
        return (
          <li key={String(index)}>
            <p class="message-role">{visibleLine(String(role))}</p>
            <Blocks blocks={contentBlocks(content)} />
          </li>
        );
      })}
    </ol>
  );
}
