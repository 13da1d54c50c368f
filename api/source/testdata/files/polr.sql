-- MySQL dump 10.13  Distrib 5.7.42, for Linux (x86_64)
CREATE TABLE `links` (
  `id` int(10) unsigned NOT NULL AUTO_INCREMENT,
  `short_url` varchar(255) COLLATE utf8_unicode_ci NOT NULL,
  `long_url` longtext COLLATE utf8_unicode_ci NOT NULL,
  `ip` varchar(255) COLLATE utf8_unicode_ci NOT NULL,
  `creator` varchar(255) COLLATE utf8_unicode_ci NOT NULL,
  `clicks` varchar(255) COLLATE utf8_unicode_ci NOT NULL DEFAULT '0',
  `secret_key` varchar(255) COLLATE utf8_unicode_ci NOT NULL,
  `is_disabled` tinyint(1) NOT NULL DEFAULT '0',
  `is_custom` tinyint(1) NOT NULL DEFAULT '0',
  `is_api` tinyint(1) NOT NULL DEFAULT '0',
  `created_at` timestamp NOT NULL DEFAULT '0000-00-00 00:00:00',
  `updated_at` timestamp NOT NULL DEFAULT '0000-00-00 00:00:00',
  `long_url_hash` varchar(10) COLLATE utf8_unicode_ci DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `links_short_url_unique` (`short_url`)
) ENGINE=InnoDB AUTO_INCREMENT=4 DEFAULT CHARSET=utf8;
INSERT INTO `links` VALUES (1,'0','https://a.example/','192.0.2.1','ann','5','',0,0,0,'2016-01-02 03:04:05','2016-01-02 03:04:05','1a2b'),(2,'promo','https://a.example/p','192.0.2.1','ann','0','',1,1,0,'2016-01-02 03:04:06','2016-01-03 03:04:06',NULL),(3,'sec','https://a.example/s','192.0.2.1','ann','0','k3y',0,1,0,'2016-01-02 03:04:07','2016-01-02 03:04:07',NULL);
