import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { aggregates } from '../../lib/features/aggregates.ts'
import { define } from '../../lib/index.ts'
import { relate } from '../../lib/relations/relate.ts'
import { memory } from '../../lib/storage/memory.ts'
import { build, request } from '../app.ts'
import { serveBlog } from './blog.ts'

// Mistakes in queries are named, together with what is accepted.

test('GET returns 400 with the name of the parameter and the accepted names', async (t) => {
  const app = await serveBlog(t)
  const mistakes: ReadonlyArray<readonly [query: string, parameter: string, detail: RegExp]> = [
    ['expand=nobody', 'expand', /^expand must be relations separated by commas: author, editor, comments; not "nobody"\.$/],
    ['expand=', 'expand', /author, editor, comments; not ""/],
    ['expand=author.nobody', 'expand', /author\.articles, author\.manager; not "author\.nobody"/],
    ['expand=author.manager.manager.manager', 'expand', /a shorter path than "author\.manager\.manager\.manager"\. At most 3 relations can follow each other\.$/],
    [`expand=${Array.from({ length: 21 }, () => 'author').join()}`, 'expand', /up to 20 relations/],
    ['expand.comments.limit=2', 'expand.comments.limit', /add expand to the query/],
    ['expand=author&expand.comments.limit=2', 'expand.comments.limit', /a relation that expand names: author/],
    ['expand=author&expand.author.limit=2', 'expand.author.limit', /author is one item\. Available: fields/],
    ['expand=comments&expand.comments.limit=-1', 'expand.comments.limit', /whole number from 0 to/],
    ['expand=comments&expand.comments.limit=1000', 'expand.comments.limit', /whole number from 0 to 100/],
    ['expand=comments&expand.comments.sort=nothing', 'expand.comments.sort', /id, text, articleId, authorId/],
    ['expand=comments&expand.comments.fields=nothing', 'expand.comments.fields', /id, text, articleId, authorId/],
    ['expand=comments&expand.comments.nothing=1', 'expand.comments.nothing', /Available: limit, sort, fields, count/],
    ['expand=comments&expand.comments.filter=x', 'expand.comments.filter', /Available: limit, sort, fields, count and cond/],
    ['expand=comments&expand.comments.id=x', 'expand.comments.id', /whole number/],
    ['expand=author&expand.author.password=x', 'expand.author.password', /Available: fields/],
    ['author.nothing=1', 'author.nothing', /author\.name/],
    ['author.password=1', 'author.password', /unknown/],
    ['author=1', 'author', /unknown/],
    ['comments.text=1', 'comments.text', /unknown/],
    ['comments.some.nothing=1', 'comments.some.nothing', /unknown/],
    ['comments.count=x', 'comments.count', /whole number/],
    ['comments.count.null=true', 'comments.count.null', /unknown.* can be followed by: \.eq, \.ne, \.lt, \.lte, \.gt, \.gte, \.in, \.nin\.$/],
    ['author.articles.count.null=false', 'author.articles.count.null', /unknown.* \.in, \.nin\.$/],
    ['sort=author.nothing', 'sort', /author\.name/],
    ['sort=author.password', 'sort', /author\.name/],
    ['sort=comments.text', 'sort', /title/],
    [
      'limit=100&expand=comments.author&expand.comments.limit=100',
      'expand',
      /could include 20000 related items, and at most 2000 are possible/
    ]
  ]
  for (const [query, parameter, detail] of mistakes) {
    const { statusCode, body } = await request(app, `GET /articles?${query}`)
    t.match([statusCode, JSON.parse(body)], [400, { code: 'invalid-query', parameter, detail }], query)
  }
  t.match((await request(app, 'GET /articles/a1?limit=1')).json(), { status: 400, parameter: 'limit' })
})

test('QUERY and calls name the mistake by a JSON Pointer', async (t) => {
  const app = await serveBlog(t)
  const mistakes: ReadonlyArray<readonly [content: object, pointer: string, message: RegExp]> = [
    [{ expand: 'author' }, '/expand', /must be an array of up to 20 relations, or an object with options for each$/],
    [{ expand: ['nobody'] }, '/expand', /must be relations: author, editor, comments; not "nobody"/],
    [{ expand: { author: 1 } }, '/expand/author', /true, or an object with options/],
    [{ expand: { author: { limit: 1 } } }, '/expand/author/limit', /author is one item\. Available: fields, expand$/],
    [{ expand: { comments: { limit: 'x' } } }, '/expand/comments/limit', /whole number/],
    [{ expand: { comments: { colour: 1 } } }, '/expand/comments/colour', /must be omitted\. Available: limit, sort, fields, count, filter, expand$/],
    [{ expand: { comments: { expand: { author: { sort: ['id'] } } } } }, '/expand/comments/expand/author/sort', /one item/],
    [{ expand: { comments: { expand: 1 } } }, '/expand/comments/expand', /relations/],
    [{ expand: { comments: { filter: { x: 1 } } } }, '/expand/comments/filter/x', /is not/],
    [{ filter: { author: { x: 1 } } }, '/filter/author/x', /name/],
    [{ filter: { comments: { x: 1 } } }, '/filter/comments/x', /some/],
    [{ filter: { comments: { some: 1 } } }, '/filter/comments/some', /object/],
    [{ filter: { comments: { 'count.null': true } } }, '/filter/comments/count.null', /not a known property.* \.in, \.nin\.$/],
    [{ sort: ['author.x'] }, '/sort', /author\.name/],
    [{ sort: 'author.name' }, '/sort', /^must be an array of these names: id, .*author\.name/],
    [{ fields: 'title' }, '/fields', /^must be an array of these names: id, title/]
  ]
  for (const [content, pointer, message] of mistakes) {
    const { statusCode, body } = await request(app, 'QUERY /articles', { content })
    t.match([statusCode, JSON.parse(body)], [422, { errors: [{ pointer, message }] }], JSON.stringify(content))
  }
})

test('a problem lists at most 20 names, those of the same relation first, and counts the others', async (t) => {
  const names = Array.from({ length: 30 }, (_, index) => `p${index}`)
  const Wide = Type.Object({
    id: Type.String({ format: 'uuid' }),
    ...Object.fromEntries(names.map((name) => [name, Type.Optional(Type.Integer())])),
    parentId: Type.Optional(Type.String({ format: 'uuid' }))
  })
  const given: object = { by: names, of: {} }
  const { nodes } = relate({ nodes: define({ name: 'nodes', schema: Wide, storage: memory() }) }, {
    nodes: { parent: { to: 'nodes', property: 'parentId' }, children: { to: 'nodes', by: 'parentId' } }
  })
  const app = await build(t, nodes.with(aggregates(given)))
  const own = ['id', ...names].slice(0, 20).join(', ')
  const ofParent = ['id', ...names].slice(0, 20).map((name) => `parent.${name}`).join(', ')
  const getDetail = async (search: string): Promise<string> => (await request(app, `GET /nodes${search}`)).json().detail
  t.equal(
    await getDetail('?sort=x'),
    `sort must be properties separated by commas, each once, with - in front for descending order: ${own} and 12 more; not "x".`
  )
  t.ok((await getDetail('?sort=-parent.x')).endsWith(`: ${ofParent} and 44 more; not "parent.x".`))
  t.equal(await getDetail('?fields=x'), `fields must be properties separated by commas: ${own} and 12 more; not "x".`)
  t.match(await getDetail('?x=1'), `A list can be filtered by: ${own} and `)
  t.match(await getDetail('?parent.x=1'), `A list can be filtered by: ${ofParent} and `)
  t.match(await getDetail('/aggregate?by=x'), `${names.slice(0, 20).join(', ')} and 10 more; not "x".`)
  t.equal(await getDetail('?expand=x'), 'expand must be relations separated by commas: parent, children; not "x".', 'few names are all listed')
  const content = { sort: 'x', fields: 'x', filter: { 'parent.x': 1 } }
  t.match((await request(app, 'QUERY /nodes', { content })).json().errors, [
    { pointer: '/sort', message: `must be an array of these names: ${own} and 44 more` },
    { pointer: '/fields', message: `must be an array of these names: ${own} and 12 more` },
    { pointer: '/filter/parent.x', message: `A list can be filtered by: ${ofParent} and ` }
  ])
})
