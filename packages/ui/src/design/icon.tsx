import type { VNode } from "preact";

const paths = {
  overview: "M2.5 9.5h4v4h-4zM9.5 9.5h4v4h-4zM2.5 2.5h11v4h-11z",
  connections: "M3 8h3M10 4.5h3M10 11.5h3M6 8l4-3.5M6 8l4 3.5",
  calls: "M2.5 4h6M2.5 8h11M5.5 12h8",
  tools: "M9.8 6.2 13 3a3.4 3.4 0 0 1-4.6 4.6L4 12.1a1.4 1.4 0 0 1-2-2l4.5-4.5A3.4 3.4 0 0 1 11 1.2L8 4.3",
  explain:
    "M8 14.2a6.2 6.2 0 1 0 0-12.4 6.2 6.2 0 0 0 0 12.4ZM6.2 6.3A1.9 1.9 0 0 1 8 5c1 0 1.9.7 1.9 1.7C9.9 8 8 8 8 9.4M8 11.3v.2",
  history: "M2.2 8A5.8 5.8 0 1 0 4 3.8L2.4 5.3M2.4 2.3v3h3M8 4.8V8l2.2 1.6",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM10.7 10.7 14 14",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  check: "M3 8.5 6.3 12 13 4.5",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  expand: "M9.5 2.5h4v4M13.5 2.5 9 7M6.5 13.5h-4v-4M2.5 13.5 7 9",
  external: "M6.5 3.5h-4v10h10v-4M9.5 2.5h4v4M13.5 2.5 7 9",
  chevron: "M6 3.5 10.5 8 6 12.5",
  back: "M10 3.5 5.5 8l4.5 4.5",
  more: "M3 8h.1M8 8h.1M13 8h.1",
  pause: "M5 3v10M11 3v10",
  play: "M4.5 2.8v10.4L13 8Z",
} as const;

export type IconName = keyof typeof paths;

/** A small drawing in the colour of the text. It is hidden from screen readers: give its button a label. */
export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }): VNode {
  return (
    <svg
      viewBox="0 0 16 16"
      width={size}
      height={size}
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}
