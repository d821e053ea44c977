// Globals of a program. Reference it with: /// <reference path="tools.d.ts" />

declare const args: any;
declare const env: Record<string, string>;
declare const stdin: { text(): Promise<string>; json(): Promise<any>; lines(): AsyncIterable<string> };

declare class ToolError extends Error { code: string; tool: string; hint?: string }
declare class PolicyError extends ToolError { rule?: string }

type Settled<T> = { ok: true; value: T } | { ok: false; error: { code: string; tool?: string; message: string; hint?: string } };
declare function attempt<T>(fn: () => T | Promise<T>, options?: { retries?: number; backoff?: number; timeout?: number; retryOn?: (e: any) => boolean; fallback?: any }): Promise<T>;
declare function settle<T>(list: Array<Promise<T> | (() => Promise<T>)>): Promise<Array<Settled<T>>>;
declare function settle<T>(list: Record<string, Promise<T> | (() => Promise<T>)>): Promise<Record<string, Settled<T>>>;
declare function pages<T = any>(tool: (args: any) => Promise<any>, args?: object): AsyncIterable<T>;
declare function mapLimit<T, R>(items: Iterable<T>, n: number, fn: (item: T, index: number) => R | Promise<R>): Promise<R[]>;
interface Artifact { artifact: string; name: string; type: string; bytes: number }
interface ArtifactPage extends Artifact { lines: number; from: number; text: string; matches?: Array<{ line: number; text: string }>; next?: number }
declare const artifacts: {
  put(name: string, data: any, options?: { type?: string }): Promise<Artifact>;
  read(id: string | Artifact, options?: { from?: number; lines?: number; match?: string }): Promise<ArtifactPage | any>;
};
declare function progress(done: number, total?: number, text?: string): void;
declare function searchTools(query: string, limit?: number, detail?: "name" | "summary" | "full"): Promise<{ tools: any[]; total: number }>;
declare function describeTool(name: string): Promise<any>;

